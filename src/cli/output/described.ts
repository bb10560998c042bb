/** The description of an archive that is sent: the message of `--message`, and the git commit of the folder. */
import { LIMITS, names, type OptionValues, optionText, type resources, UsageError } from '../../contract/index.ts'
import type { Source } from '../archive/files.ts'
import type { SourceArchive } from '../archive/pack.ts'
import type { ClientCall } from '../command.ts'
import { CallFailed } from '../connection/failures.ts'
import type { Service } from '../connection/service.ts'
import { type UploadOptions, upload } from '../connection/upload.ts'
import { commitOf } from '../git/commit.ts'
import type { Report } from './report.ts'

const LINE = new RegExp(names.lineOfText, 'u')

/** The text of `--message`, or nothing. */
export function messageIn(options: OptionValues): string {
  const text = optionText(options, 'message')?.trim() ?? ''
  const max = LIMITS.messageLength
  if (text !== '' && !LINE.test(text)) throw new UsageError('--message is one line of text, without control characters')
  if ([...text].length > max) throw new UsageError(`--message has more than ${max} characters: shorten it`)
  return text
}

/** A commit that cannot be read is no reason not to deploy. */
export async function describeFolder(
  { options, environment }: Pick<ClientCall, 'options' | 'environment'>,
  { folder, source }: { folder: string; source: Source },
  report: Pick<Report, 'note'>,
): Promise<resources.Described> {
  const message = messageIn(options)
  try {
    return { message, commit: await commitOf(folder, environment.ciCommit, source.files) }
  } catch (error) {
    report.note(`The git commit cannot be read, so it is not sent: ${(error as Error).message}`)
    return { message, commit: null }
  }
}

type Sending = UploadOptions & { described: resources.Described; report: Pick<Report, 'note'> }

/** A service of an earlier version takes no commit. The user did not type it, so it can be left out. */
export async function uploadDescribed<T>(
  service: Service,
  environment: string,
  archive: SourceArchive,
  sending: Sending,
): Promise<T> {
  const { report, described, ...options } = sending
  try {
    return await upload<T>(service, environment, archive, { ...options, described })
  } catch (error) {
    const isUnknown = error instanceof CallFailed && error.reason === 'FIELD_INVALID'
    if (!isUnknown || described.commit === null || described.message !== '') throw error
    report.note('This service is of an earlier version: it does not take the git commit, so it is not sent.')
    return upload<T>(service, environment, archive, options)
  }
}
