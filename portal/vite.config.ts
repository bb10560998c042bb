/** How the portal is built. The service does it by itself; `npx vite portal` serves it while you work on it. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** Where the service listens by default. The host stays that of the browser, as writing requests check their origin. */
const SERVICE = { target: 'http://127.0.0.1:8080', changeOrigin: false }

export default defineConfig({
  plugins: [react()],
  build: {
    // Browsers that know light-dark() and dialogs, as of spring 2024: nothing is rewritten for older ones.
    target: ['chrome123', 'edge123', 'firefox125', 'safari17.5'],
    // Everything is a file of ours with a digest in its name: the policy of the page allows nothing else.
    assetsInlineLimit: 0,
    // All styles in one file, a few KB: a page never waits for its own, nor goes without them.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // What changes with a dependency and not with a page: kept by browsers from one version to the next.
            {
              name: 'react',
              test: /node_modules\/(react|react-dom|scheduler|@tanstack|wouter|regexparam)\//,
              priority: 2,
            },
            // What nearly every page uses, in one request and not in twenty.
            { name: 'parts', test: /portal\/src\/(api|parts|session)\//, priority: 1 },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '/v1': SERVICE, '/fu': SERVICE, '/docs': SERVICE, '/openapi.json': SERVICE } },
})
