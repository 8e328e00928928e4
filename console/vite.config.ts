// Builds the console into static files, with nothing inline. Those that everybody needs are asked for as soon as the page is read.
import { convertCssVariables, DEFAULT_THEME, defaultCssVariablesResolver, mergeMantineTheme } from '@mantine/core'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { cssVariables, theme } from './src/theme.ts'

const THEME_CSS = 'virtual:theme.css'

/** Mantine has eight more, with 40 variables each. */
const UNUSED = /^--mantine-color-(pink|grape|violet|blue|cyan|green|lime|orange)-/
const used = (variables: Record<string, string>) =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !UNUSED.test(name)))

/** Mantine would write the theme's variables into an inline style at run time; as a file they pass a strict CSP. */
function themeCss(): Plugin {
  return {
    name: 'theme-css',
    resolveId: (id) => (id === THEME_CSS ? `\0${THEME_CSS}` : undefined),
    load(id) {
      if (id !== `\0${THEME_CSS}`) return undefined
      const merged = mergeMantineTheme(DEFAULT_THEME, theme)
      const [mantine, own] = [defaultCssVariablesResolver(merged), cssVariables(merged)]
      const variables = used({ ...mantine.variables, ...own.variables })
      const [light, dark] = [used({ ...mantine.light, ...own.light }), used({ ...mantine.dark, ...own.dark })]
      return convertCssVariables({ variables, light, dark }, ':root')
    },
  }
}

/** `main.ts` would ask for the page's code when it runs itself, which is a round trip later. */
function preloadPage(): Plugin {
  return {
    name: 'preload-page',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle = {} }) {
        const files = Object.values(bundle).filter((file) => file.type === 'chunk')
        const page = files.find(({ name }) => name === 'page')
        if (page === undefined) return []
        const styles = [...(page.viteMetadata?.importedCss ?? [])]
        const link = (rel: string, file: string, attrs = {}) => ({
          tag: 'link',
          attrs: { rel, href: `/console/${file}`, crossorigin: true, ...attrs },
          injectTo: 'head' as const,
        })
        return [
          ...styles.map((file) => link('preload', file, { as: 'style' })),
          ...[page.fileName, ...page.imports].map((file) => link('modulepreload', file)),
        ]
      },
    },
  }
}

/**
 * The scripts, in the order in which they are needed. Each has these modules and all that they import, without what the ones before it have.
 * Few, since a browser asks for six files at a time, and each costs a round trip.
 */
const SCRIPTS = [
  { name: 'main', test: /([\\/]src[\\/]main\.ts|[\\/]index\.html)$/ },
  // With what both the sign-in and the views are made of.
  {
    name: 'page',
    test: /[\\/](src[\\/]page|ui[\\/](busy-button|error-alert|name|view-title))\.tsx$|[\\/](frame|surface)\.module\.css|components[\\/](ActionIcon|InputBase|Paper)[\\/]/,
  },
  { name: 'signed-in', test: /[\\/]src[\\/](signed-in|tokens[\\/]tokens-view)\.tsx$/ },
  { name: 'sign-in', test: /[\\/]src[\\/]app[\\/](sign-in|account-choice)\.tsx$/ },
  { name: 'later', test: /./ },
]

/** For `npm run dev`: the service that the page asks. */
const service = process.env.LATCHKEY_SERVER ?? 'http://127.0.0.1:3000'

export default defineConfig({
  base: '/console/',
  server: {
    host: '127.0.0.1',
    proxy: Object.fromEntries(['/api', '/auth', '/oauth2', '/docs'].map((path) => [path, { target: service }])),
  },
  plugins: [react(), themeCss(), preloadPage()],
  build: {
    target: 'es2024',
    modulePreload: { polyfill: false },
    // An inlined asset would be a data: address in the style sheet.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: { codeSplitting: { groups: SCRIPTS.map((each, at) => ({ ...each, priority: SCRIPTS.length - at })) } },
    },
    chunkSizeWarningLimit: 650,
  },
})
