// The styles of the component. Constructed sheets are no inline styles, which a strict policy of the page would forbid.
import base from './base.css?inline'
import dialog from './dialog.css?inline'
import list from './list.css?inline'
import usage from './usage.css?inline'

export const styles = [base, list, usage, dialog].map((css) => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  return sheet
})
