// Builds the portal into two scripts that share nothing: the component, which other sites load by its name, and the service's own page.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

/** As they are written: Vite would make one script of the two that the page loads. */
function pageFiles(): Plugin {
  return {
    name: 'page-files',
    generateBundle() {
      for (const fileName of ['index.html', 'page.css']) {
        this.emitFile({ type: 'asset', fileName, source: readFileSync(join(import.meta.dirname, fileName)) })
      }
    },
  }
}

export default defineConfig({
  base: '/portal/',
  plugins: [pageFiles()],
  build: {
    target: 'es2024',
    // Older ones have no `light-dark()`, and what replaces it does not follow the `color-scheme` of the page around the component.
    cssTarget: ['chrome123', 'firefox128', 'safari17.5'],
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      input: ['latchkey-tokens', 'page'].map((name) => join(import.meta.dirname, `${name}.ts`)),
      output: { entryFileNames: '[name].js' },
    },
  },
})
