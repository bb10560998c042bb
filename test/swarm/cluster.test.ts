/** A whole cluster, which the files of this folder use one after the other. Each of them also runs alone. */
import { before } from 'node:test'

const loading = Promise.withResolvers<void>()
// What they share ends when no test is left, so the last file is there before the first test begins.
before(() => loading.promise)
try {
  await import('./cluster/whole.test.ts')
  await import('./cluster/examples.test.ts')
  await import('./cluster/faults.test.ts')
} finally {
  loading.resolve()
}
