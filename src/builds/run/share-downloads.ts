/** What was downloaded for a good build is kept for other apps of the account. */
import { packageStoreOf } from '../isolated/on-demand.ts'
import type { Plan } from '../plan/plan.ts'
import { inWords } from './log-words.ts'
import type { Made } from './run.ts'
import type { TarballStore } from './tarballs.ts'
import type { Workspace } from './workspace.ts'

type Given = Pick<Made, 'installed'> & {
  accountId: string
  plan: Plan
  workspace: Workspace
  /** The folder for stores of package managers, of this environment. */
  store: string
  say(sentence: string): void
}

export async function shareDownloads(
  tarballs: TarballStore,
  { accountId, plan, workspace, store, installed, say }: Given,
): Promise<void> {
  const { tarballs: path } = await packageStoreOf(plan.packageManager)
  if (!installed || path === undefined) return
  const kept = await tarballs.keep(accountId, installed.tarballs, { store, workspace, path })
  if (kept.files > 0) say(`Kept for other apps of this account: ${inWords(kept)} of downloaded packages.`)
  if (kept.rejected === 0) return
  const what = kept.rejected === 1 ? '1 file' : `${kept.rejected} files`
  say(
    `Warning: ${what} in the store of the package manager: the content is not what the name says. Other apps do not get it. A Clean Rebuild makes the store anew.`,
  )
}
