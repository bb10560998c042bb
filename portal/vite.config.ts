/** How the portal is built. The service builds it by itself; `npx vite portal` serves it during development. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { listLicenses } from './licenses.ts'

/** Where the service listens by default. The host stays that of the browser, as writing requests check their origin. */
const SERVICE = { target: 'http://127.0.0.1:8080', changeOrigin: false }

const licenses = listLicenses()

export default defineConfig({
  plugins: [react(), licenses.pages],
  build: {
    // Browsers that support light-dark() and dialogs, as of spring 2024: nothing is transpiled for older ones.
    target: ['chrome123', 'edge123', 'firefox125', 'safari17.5'],
    // Every asset is a file with a digest in its name: the policy of the page allows no inlined ones.
    assetsInlineLimit: 0,
    // All styles in one file, so that no page waits for styles of its own.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // Changes only with a dependency, so browsers keep it from one version to the next.
            {
              name: 'react',
              test: /node_modules\/(react|react-dom|scheduler|@tanstack|wouter|regexparam)\//,
              priority: 2,
            },
            // Used by nearly every page: one request instead of twenty.
            { name: 'shared', test: /portal\/src\/(api|components|session)\//, priority: 1 },
          ],
        },
      },
    },
  },
  worker: { format: 'es', plugins: () => [licenses.workers] },
  server: { proxy: { '/v1': SERVICE, '/fu': SERVICE, '/docs': SERVICE, '/openapi.json': SERVICE } },
})
