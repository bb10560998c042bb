/** A folder that is deleted when the test is over. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A test, or a whole test file: anything that runs clean-up functions when it ends. */
export type Scope = { after(end: () => unknown): void }

export async function temporaryFolder(t: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headland-test-'))
  // A service that is still stopping may write to it during the deletion, so it is tried again.
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
