/** A folder that is gone when the test is over. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A test, or a whole file of them: whatever can be asked to clean up after itself. */
export type Scope = { after(end: () => unknown): void }

export async function temporaryFolder(t: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headland-test-'))
  // A service that is still on its way out may write something meanwhile.
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
