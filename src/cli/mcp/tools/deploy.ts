/** Deploys a folder of this machine. Only folders that the user has named may be sent: an agent may be talked into sending others. */
import { realpath, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import type { Operation } from '../../../client/index.ts'
import { LIMITS, schema, UsageError } from '../../../contract/index.ts'
import { filesOf } from '../../archive/files.ts'
import { withArchive } from '../../archive/pack.ts'
import { describeFolder, uploadDescribed } from '../../output/described.ts'
import { noteOnUpload } from '../../output/pin.ts'
import { sizeOf } from '../../output/rows.ts'
import { makeSureOfAccount } from '../../project/accounts-used.ts'
import {
  AT_ENVIRONMENT,
  atEnvironmentOf,
  CONFIRM,
  type Context,
  callWith,
  consent,
  type Given,
  type Tool,
  WAIT,
} from '../tool.ts'
import { followed } from './following.ts'

export const DEPLOY_TOOL: Tool = {
  name: 'deploy',
  title: 'Deploy a folder',
  description:
    'Sends the files of a folder of this machine to an environment that exists, builds them, and makes the result live if the build succeeds. Files that .gitignore or .headlandignore leave out are not sent, nor are .env files.',
  kind: 'changes',
  input: schema.object({
    folder: schema.optional(
      schema.string({
        description: 'The folder of the app; that of the server unless given.',
        minLength: 1,
        maxLength: 4096,
      }),
    ),
    message: schema.optional(
      schema.string({ description: 'What it is about, in one line.', maxLength: LIMITS.messageLength }),
    ),
    ...CONFIRM,
    ...WAIT,
    ...AT_ENVIRONMENT,
  }),
  async run(context, given) {
    const folder = await allowed(context, given)
    // The project file of the folder says where it goes, unless the arguments do.
    const call = { ...context.call, folder }
    return atEnvironmentOf({ call }, given, async (at) => {
      await makeSureOfAccount(callWith(call, given), at)
      const source = await filesOf(folder)
      const pin = noteOnUpload(at.environment)
      const size = `${source.files.length} files, ${sizeOf(source.files.reduce((sum, { bytes }) => sum + bytes, 0))}`
      const effect = `Sends ${folder} (${size}) to ${at.title} at ${at.service.url}, builds it and makes it live.${pin ? ` ${pin}` : ''}`
      const refused = await consent(context, given, { title: at.title, effect })
      if (refused) return refused
      const report = { note: context.progress }
      const about = { ...call, options: { message: given.message } }
      const described = await describeFolder(about, { folder, source }, report)
      const sending = { signal: context.signal, described, report, onProgress: progressOf(context) }
      const operation = await withArchive(
        source.files,
        (archive) => uploadDescribed<Operation>(at.service, at.environment.name, archive, sending),
        context.signal,
      )
      return followed(context, at, operation, given)
    })
  },
}

const progressOf =
  ({ progress }: Context) =>
  (sent: number, total: number) =>
    progress(`sent ${sizeOf(sent)} of ${sizeOf(total)}`)

/** The real folder, if it is one of those that may be sent, or below one. */
async function allowed({ call, folders }: Context, given: Given): Promise<string> {
  const wanted = resolve(call.folder, given.folder ?? '.')
  const folder = await realpath(wanted).catch(() => undefined)
  if (folder === undefined || !(await stat(folder)).isDirectory()) throw new UsageError(`${wanted} is not a folder`)
  for (const one of folders) {
    const top = await realpath(one)
    if (folder === top || folder.startsWith(top.endsWith(sep) ? top : `${top}${sep}`)) return folder
  }
  throw new UsageError(
    `${wanted} is not in a folder that may be deployed: ${folders.join(', ')}. The user names others with 'headland mcp --folder'`,
  )
}
