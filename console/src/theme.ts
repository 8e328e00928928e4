// Colours and type. Shades are chosen for contrast: text on them, and they as text, pass WCAG AA in both schemes.
import { createTheme } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: {
    fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
    fontWeight: '650',
  },
  colors: {
    dark: [
      '#e3e5e8',
      '#a9afb8',
      '#8d939c',
      '#5f656e',
      '#4a4e56',
      '#33363d',
      '#26282e',
      '#1f2126',
      '#17181c',
      '#101114',
    ],
  },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // The scroll lock of these would write an inline style; styles/page.css locks the page instead.
    Modal: { defaultProps: { lockScroll: false, centered: true, transitionProps: { duration: 120 } } },
    Drawer: { defaultProps: { lockScroll: false, transitionProps: { duration: 120 } } },
  },
})
