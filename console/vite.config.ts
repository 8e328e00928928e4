// How the console becomes a few files: one page, one script, one style sheet, no inline anything.
import { convertCssVariables, DEFAULT_THEME, defaultCssVariablesResolver, mergeMantineTheme } from '@mantine/core'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { theme } from './src/theme.ts'

const THEME_CSS = 'virtual:theme.css'

/** Mantine would write the theme's variables into an inline style at run time; as a file they pass a strict CSP. */
function themeCss(): Plugin {
  return {
    name: 'theme-css',
    resolveId: (id) => (id === THEME_CSS ? `\0${THEME_CSS}` : undefined),
    load(id) {
      if (id !== `\0${THEME_CSS}`) return undefined
      return convertCssVariables(defaultCssVariablesResolver(mergeMantineTheme(DEFAULT_THEME, theme)), ':root')
    },
  }
}

export default defineConfig({
  base: '/console/',
  plugins: [react(), themeCss()],
  build: {
    target: 'es2024',
    modulePreload: { polyfill: false },
    // An inlined asset would be a data: address in the style sheet.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // One script, 140 kB compressed: split, it would only arrive in more pieces.
    chunkSizeWarningLimit: 650,
  },
})
