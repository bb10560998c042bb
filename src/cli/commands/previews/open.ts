/** The preview that a folder is deployed to. */
import { APP } from '../../../client/index.ts'
import { LIMITS, names, type resources, UsageError } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { noteOnAddress } from '../../connection/site.ts'
import type { Report } from '../../output/report.ts'
import { makeSureOfAccount } from '../../project/accounts-used.ts'
import type { Target } from '../../project/target.ts'
import { atApp } from '../../project/where.ts'

/** What decides about an environment that is not a preview. */
const OTHERS = ['env', 'create', 'region', 'cms', 'root', 'dry-run']
const LINE = new RegExp(names.lineOfText, 'u')

export async function openPreview(
  call: ClientCall,
  described: resources.Described,
  { report, signal }: { report: Report; signal: AbortSignal },
): Promise<Target> {
  const other = OTHERS.find((name) => call.options[name] !== undefined)
  if (other !== undefined) throw new UsageError(`--preview does not go together with --${other}`)
  const branch = branchIn(call, described)
  const at = await atApp(call)
  await makeSureOfAccount(call, at)
  const { account, app } = at
  const asked = { path: { account, app }, body: { branch }, signal }
  const environment = await at.service.client.call(`POST ${APP}:preview`, asked)
  report.preview(environment)
  const note = noteOnAddress(environment.url, at.service.url)
  if (note) report.note(note)
  return { account, app, environment, isNew: false }
}

function branchIn({ options }: ClientCall, { commit }: resources.Described): string {
  const given = String(options.preview)
  if (/^(?:\.{0,2}|~)\//.test(given))
    throw new UsageError(
      `--preview takes the name of a branch: give the folder before it, as in deploy ${given} --preview`,
    )
  const branch = given === '' ? commit?.branch : given
  if (branch === undefined)
    throw new UsageError('which branch? --preview NAME, since the folder is on no branch of a git repository')
  if (!LINE.test(branch) || branch.length > LIMITS.branchLength)
    throw new UsageError(`--preview is one line of text of at most ${LIMITS.branchLength} characters`)
  return branch
}
