// Names are data. Sixty that try to be something else are shown, in every place that shows names, as text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from './world.ts'
import { faultsOf } from './world.ts'

const MARKUP = [
  '<script>alert(1)</script>',
  '"><script>alert(1)</script>',
  "'><script>alert(1)</script>",
  '</title><script>alert(1)</script>',
  '</textarea><script>alert(1)</script>',
  '</style><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><img src=x onerror=alert(1)>',
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<svg><animate onbegin=alert(1) attributeName=x>',
  '<body onload=alert(1)>',
  '<iframe src="javascript:alert(1)">',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<object data="javascript:alert(1)">',
  '<embed src="javascript:alert(1)">',
  '<a href="javascript:alert(1)">x</a>',
  '<form action="javascript:alert(1)"><input type=submit autofocus>',
  '<input autofocus onfocus=alert(1)>',
  '<details open ontoggle=alert(1)>',
  '<video><source onerror=alert(1)>',
  '<audio src=x onerror=alert(1)>',
  '<marquee onstart=alert(1)>',
  '<math><mi//xlink:href="data:x,<script>alert(1)</script>">',
  '<link rel=stylesheet href=//evil.example/x.css>',
  '<meta http-equiv=refresh content="0;url=javascript:alert(1)">',
  '<base href=//evil.example/>',
  '<style>*{background:url(//evil.example)}</style>',
  '<template><script>alert(1)</script></template>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<!--<img src="--><img src=x onerror=alert(1)//">',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<div style="position:fixed;inset:0;background:red">x</div>',
  '" onmouseover="alert(1)" x="',
  "' onfocus='alert(1)' autofocus='",
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '{{constructor.constructor("alert(1)")()}}',
  ['$', '{alert(1)}'].join(''),
  '<%= alert(1) %>',
  '__proto__',
  'constructor',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '%3Cscript%3Ealert(1)%3C/script%3E',
  '\\u003cscript\\u003ealert(1)\\u003c/script\\u003e',
  '[31mred[0m without its escape character',
  ']8;;https://evil.example link',
  '=HYPERLINK("https://evil.example")',
  "'; DROP TABLE tokens; --",
]
const UNICODE = [
  'שלום עולם',
  'مرحبا abc 123 مرحبا',
  'abc אבג >evil< דהו',
  'Z̸̡̛͔̗̾a̵̢͠l̶͙̈g̷̱̀o̸̦͐',
  '﷽﷽﷽﷽﷽﷽',
  'a\u200bb\u200cc\u200dd',
  'ⅰｎｖｉｓｉｂｌｅ',
  '👩‍👩‍👧‍👦🏳️‍🌈🗝️',
  'W'.repeat(255),
  `${'ﷺ'.repeat(120)} end`,
]

export const describeHostileNames: Part = (world) => {
  test('these tests would notice a dialog, an inline style, an inline script and markup made from text', async () => {
    const page = await world().browser.newPage()
    const faults = faultsOf(page)
    await page.goto(world().base)
    await page.evaluate(() => {
      document.head.append(Object.assign(document.createElement('style'), { textContent: '* { color: red }' }))
      const script = document.createElement('script')
      script.append('1')
      document.head.append(script)
      setTimeout(() => {
        document.body.innerHTML = '<p>text</p>'
      })
      setTimeout(() => alert('hello'))
    })
    const expected = [/style-src/, /script-src|TrustedScript/, /TrustedHTML/, /dialog: hello/]
    const missing = () => expected.filter((pattern) => !faults.some((fault) => pattern.test(fault)))
    for (let waits = 0; missing().length > 0 && waits < 100; waits++) await page.waitForTimeout(50)
    assert.deepEqual(missing(), [])
    await page.close()
  })

  test('sixty hostile names are text in the list, the dialogs, the history and the overview', async () => {
    const names = [...MARKUP, ...UNICODE]
    assert.equal(names.length, 60)
    const owners = ['<img src=x onerror=alert(1)>', 'אבג <script>alert(1)</script>']
    const tenant = await world().tenant(
      names.map((name, index) => ({ name, owner: index % 2 })),
      owners,
    )
    const page = await world().signedIn(tenant, 'tokens?limit=100')
    await page.getByText('60 tokens', { exact: true }).waitFor()
    assert.deepEqual(
      await page.getByRole('rowheader').allTextContents(),
      names.map((name) => name.normalize('NFC')),
    )
    const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
    assert.ok((width[0] ?? 0) <= (width[1] ?? 0), 'no name widens the page')

    for (const index of [6, 33, 51, 58]) {
      const name = names[index] ?? ''
      await page.getByRole('button', { name: `Disable ${name} of ${owners[index % 2]}`, exact: true }).click()
      await page.getByRole('dialog').getByRole('definition').getByText(name, { exact: true }).first().waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    const made = () =>
      page.evaluate(() => document.querySelectorAll('main :is(img, script, iframe, object, style)').length)
    assert.equal(await made(), 0)
    await page.goto(`${world().base}history?limit=100`)
    await page.getByText('64 entries', { exact: true }).waitFor()
    assert.equal(await made(), 0)
    for (const view of ['', 'sub-accounts']) {
      await page.goto(`${world().base}${view}`)
      await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
      assert.equal(await made(), 0, view)
    }
  })

  test('names that steer text or terminals cannot be given: the service says so at the field', async () => {
    const tenant = await world().tenant([{ name: 'plain' }])
    const page = await world().signedIn(tenant, 'tokens')
    for (const name of ['abc\u202edef', '\u001b[31mred', 'a\u2066b\u2069', 'a\u061cb']) {
      await page.getByRole('button', { name: 'Rename plain' }).click()
      await page.getByLabel('New name of plain').fill(name)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('alert').filter({ hasText: 'text-direction' }).waitFor()
      await page.keyboard.press('Escape')
    }
  })
}
