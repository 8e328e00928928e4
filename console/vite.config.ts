// Builds the console into a few files: one page, one script, one style sheet, and nothing inline.
import { convertCssVariables, DEFAULT_THEME, defaultCssVariablesResolver, mergeMantineTheme } from '@mantine/core'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { cssVariables, theme } from './src/theme.ts'

const THEME_CSS = 'virtual:theme.css'

/** Mantine would write the theme's variables into an inline style at run time; as a file they pass a strict CSP. */
function themeCss(): Plugin {
  return {
    name: 'theme-css',
    resolveId: (id) => (id === THEME_CSS ? `\0${THEME_CSS}` : undefined),
    load(id) {
      if (id !== `\0${THEME_CSS}`) return undefined
      const merged = mergeMantineTheme(DEFAULT_THEME, theme)
      const [mantine, own] = [defaultCssVariablesResolver(merged), cssVariables(merged)]
      const variables = { ...mantine.variables, ...own.variables }
      const [light, dark] = [
        { ...mantine.light, ...own.light },
        { ...mantine.dark, ...own.dark },
      ]
      return convertCssVariables({ variables, light, dark }, ':root')
    },
  }
}

/** For `npm run dev`: the service that the page asks. */
const service = process.env.LATCHKEY_SERVER ?? 'http://127.0.0.1:3000'

export default defineConfig({
  base: '/console/',
  server: {
    host: '127.0.0.1',
    proxy: Object.fromEntries(['/api', '/auth', '/oauth2', '/docs'].map((path) => [path, { target: service }])),
  },
  plugins: [react(), themeCss()],
  build: {
    target: 'es2024',
    modulePreload: { polyfill: false },
    // An inlined asset would be a data: address in the style sheet.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // One script of 152 kB compressed by brotli, and one of 40 kB for the lists and pages with inputs that choose: more pieces would only
    // arrive later.
    chunkSizeWarningLimit: 650,
  },
})
