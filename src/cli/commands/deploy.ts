/** Sends a folder, and follows its build. */

import { realpath, stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { printableLine } from '../../base/index.ts'
import type { Operation, ShellVariable, ValidatedPlan } from '../../client/index.ts'
import { EXIT, isEnvFile, UsageError } from '../../contract/index.ts'
import { filesOf, type Source } from '../archive/files.ts'
import { type SourceArchive, withArchive } from '../archive/pack.ts'
import type { ClientCall } from '../command.ts'
import { CallFailed } from '../connection/failures.ts'
import type { Service } from '../connection/service.ts'
import { followBuild } from '../follow-build.ts'
import { type Interrupts, listenForInterrupts } from '../interrupts.ts'
import { finish } from '../operation.ts'
import { describeFolder, messageIn, uploadDescribed } from '../output/described.ts'
import { noteOnUpload } from '../output/pin.ts'
import type { Report } from '../output/report.ts'
import { reportOfBuild } from '../output/reports.ts'
import { oneLine, sizeOf } from '../output/rows.ts'
import { withExample } from '../project/example-file.ts'
import { findProject, PROJECT_FILE, writeProject } from '../project/project-file.ts'
import { environmentIn } from '../project/resource-names.ts'
import { readSmallFile } from '../project/small-files.ts'
import { appNameFrom, findTarget, type Target } from '../project/target.ts'
import { atService, lastPart } from '../project/where.ts'
import { changeVariables, setting } from '../variable-change.ts'
import { openPreview } from './previews/open.ts'
import { checkVariables, readPairs, readPairsIn } from './variables/variable-pairs.ts'

export async function deploy(call: ClientCall): Promise<number> {
  const { options } = call
  messageIn(options)
  const report = reportOfBuild(call)
  const folder = await whichFolder(call)
  // Before anything is asked or created: a folder with nothing to send ends here. Ctrl-C ends the process at once until then,
  // however long the ignore rules of a repository take.
  const wanted = await wantedEnvFiles(call, folder)
  const source = await withoutVariableFiles(call, await filesOf(folder, wanted), wanted)
  if (!options['list-files'] || !options.json) noteOddities(source, report)
  if (options['list-files']) return listFiles(call, source)
  const variables = await givenVariables(call)
  const interrupts = listenForInterrupts()
  try {
    return await send(call, { folder, source, variables, report, interrupts })
  } catch (error) {
    // After an interrupt, the error of the work under way is only a consequence.
    interrupts.signal.throwIfAborted()
    throw error
  } finally {
    interrupts.close()
    report.close()
  }
}

type Sending = {
  folder: string
  source: Source
  variables: readonly ShellVariable[]
  report: Report
  interrupts: Interrupts
}

async function send(call: ClientCall, { folder, source, variables, report, interrupts }: Sending): Promise<number> {
  const { terminal, options } = call
  const { signal } = interrupts
  const at = await atService({ ...call, folder })
  const { service } = at
  const isAsking = terminal.isInteractive && !options.yes
  const newVariables = (root: string) => withExample({ terminal, report, isAsking, folder, root, given: variables })
  const described = await describeFolder(call, { folder, source }, report)
  const target =
    options.preview === undefined
      ? await whichTarget(call, folder, { at, report, signal, newVariables })
      : await openPreview({ ...call, folder }, described, { report, signal })
  const note = noteOnUpload(target.environment)
  if (note && !options['dry-run']) report.note(note)
  const sent = await withArchive(source.files, uploaded, signal)
  if ('plan' in sent) return printPlan(call, sent)
  report.accepted(sent)
  if (options.detach) {
    report.detached(sent)
    return EXIT.done
  }
  const cancelsWhenLeft = options['cancel-on-interrupt'] === true
  return await followBuild({ service, operation: sent, report, terminal, interrupts, cancelsWhenLeft })

  async function uploaded(archive: SourceArchive): Promise<Operation | ValidatedPlan> {
    report.archive(archive)
    report.described(described)
    if (archive.bytes > LARGE_BYTES) report.note(`The archive is large. ${largestOf(source)}`)
    const isOnlyValidated = options['dry-run'] === true
    const isForced = options.force === true
    const asked = { signal, isOnlyValidated, isForced, onProgress: report.uploading, described, report }
    const isSet =
      !target.isNew && !isOnlyValidated && (await setVariables(target, { service, variables, report, signal }))
    try {
      return await uploadDescribed(service, target.environment.name, archive, asked)
    } catch (error) {
      const isTooLarge = error instanceof CallFailed && error.reason === 'ARCHIVE_TOO_LARGE'
      if (isTooLarge) report.note(largestOf(source))
      if (isSet) report.note('The variables are set all the same: the next build gets them.')
      throw error
    }
  }
}

/** From the files first, then from the options: later ones win. */
async function givenVariables(call: ClientCall): Promise<ShellVariable[]> {
  const given: ShellVariable[] = []
  for (const file of variableFiles(call)) given.push(...(await readPairsIn(call.folder, file)))
  return checkVariables([...given, ...(await readPairs(call, (call.options.variable ?? []) as string[]))])
}

const variableFiles = ({ options }: ClientCall): string[] => [
  ...((options['variables-file'] ?? []) as string[]),
  ...((options['env-file'] ?? []) as string[]),
]

/** Without the files that variables are read from, unless the user names one: their content is sent as variables. */
async function withoutVariableFiles(call: ClientCall, source: Source, wanted: readonly string[]): Promise<Source> {
  const real = (file: string) => realpath(file).catch(() => file)
  const given = await Promise.all(variableFiles(call).map((file) => real(resolve(call.folder, file))))
  const isKept = async ({ path, from }: Source['files'][number]) =>
    wanted.includes(path) || !given.includes(await real(from))
  const isLeft = given.length === 0 ? [] : await Promise.all(source.files.map(isKept))
  const leftOut = source.envFiles.leftOut.filter((path) => !given.some((file) => file.endsWith(`/${path}`)))
  return {
    ...source,
    files: source.files.filter((_, index) => isLeft[index] ?? true),
    envFiles: { ...source.envFiles, leftOut },
  }
}

type Setting = {
  service: Service
  variables: readonly ShellVariable[]
  report: Report
  signal: AbortSignal
}

/** Before the upload, so that its build has them; false where there are none. The live app is restarted with them, too. */
async function setVariables(
  { environment }: Target,
  { service, variables, report, signal }: Setting,
): Promise<boolean> {
  if (variables.length === 0) return false
  const names = environmentIn(environment.name)
  const asked = await changeVariables({ service, names, environment }, setting(variables))
  report.variablesSet(variables.map(({ key }) => key))
  try {
    await finish(service, asked, undefined, signal)
  } catch (error) {
    if (!(error instanceof CallFailed) || error.exitCode === EXIT.service) throw error
    // The live app may not work with variables that are meant for the new source.
    report.note(
      `What is live does not start with them, and runs on without (${error.reason}). They are set for the build.`,
    )
  }
  return true
}

/** The given folder; else that of `.headland.json`, so that it is the same from every folder of the project. */
async function whichFolder(call: ClientCall): Promise<string> {
  const { folder, positionals } = call
  const [named] = positionals
  if (named === undefined) return (await findProject(call))?.folder ?? folder
  const found = await stat(resolve(folder, named)).catch(() => undefined)
  if (!found?.isDirectory()) throw new UsageError(`${named} is not a folder`)
  return resolve(folder, named)
}

/** Relative to the project; the options are relative to the current folder. */
async function wantedEnvFiles({ folder, options }: ClientCall, project: string): Promise<string[]> {
  const top = await realpath(project)
  const named = (options['include-env-file'] ?? []) as string[]
  return Promise.all(
    named.map(async (name) => {
      const path = relative(top, await realpath(resolve(folder, name)).catch(() => resolve(folder, name)))
      const found = await stat(join(top, path)).catch(() => undefined)
      if (path.startsWith('..') || !found) throw new UsageError(`there is no ${name} in ${project}`)
      if (!isEnvFile(basename(path))) {
        throw new UsageError(`${name} is no file such as .env: a line '!${name}' in .headlandignore sends it`)
      }
      return path.split(sep).join('/')
    }),
  )
}

type Parts = Pick<Parameters<typeof findTarget>[0], 'at' | 'report' | 'signal' | 'newVariables'>

/** The target, which is written to `.headland.json` unless that names it already. */
async function whichTarget(call: ClientCall, folder: string, parts: Parts): Promise<Target> {
  const found = await findProject({ ...call, folder })
  const project = found?.project ?? {}
  const suggestedApp = appNameFrom(await nameOfPackage(folder), basename(folder))
  const mayCreate = !call.options['dry-run']
  const target = await findTarget({ ...parts, call, suggestedApp }, { mayCreate })
  const { account, app, environment } = target
  const decided = { url: parts.at.service.url, account, app, environment: lastPart(environment) }
  const isWritten = Object.keys(decided).every((field) => field in project)
  const isOther = Object.entries(project).some(([field, value]) => decided[field as keyof typeof decided] !== value)
  if (!isWritten && !isOther && mayCreate) {
    await writeProject(found?.folder ?? folder, decided)
    parts.report.note(`Written to ${PROJECT_FILE}, for the next time. It holds no secret: keep it with the source.`)
  }
  return target
}

async function nameOfPackage(folder: string): Promise<string | undefined> {
  try {
    const file = await readSmallFile(join(folder, 'package.json'), { maxBytes: MAX_PACKAGE_BYTES, followsLinks: true })
    const { name } = JSON.parse(file?.content.toString('utf8') ?? '{}')
    return typeof name === 'string' ? name : undefined
  } catch {
    // The build reports what is wrong with it; here it only suggests a name.
    return undefined
  }
}

const MAX_PACKAGE_BYTES = 1024 * 1024
const LARGE_BYTES = 50_000_000
const BUILD_OUTPUT = /(?:^|\/)(\.next|\.nuxt|\.output|\.svelte-kit|\.astro)\//
const MAX_SHOWN = 10

function noteOddities({ files, skipped, envFiles }: Source, report: Report) {
  for (const { path, why } of skipped.slice(0, MAX_SHOWN)) report.note(`${oneLine(path)} is not sent: ${why}.`)
  const output = files.map(({ path }) => BUILD_OUTPUT.exec(path)?.[1]).find(Boolean)
  if (output) report.note(`${output} is sent too, though every build makes its own: leave it out in .gitignore.`)
  const { sent, leftOut } = envFiles
  if (sent.length > 0) {
    report.note(`Sent with the source: ${listed(sent)}. If that holds secrets, use 'headland variables' instead.`)
  }
  const [first] = leftOut
  if (first === undefined) return
  const instead = `'headland deploy --variables-file ${oneLine(first)}' gives what it holds to the app as variables`
  report.note(`Not sent: ${listed(leftOut)}. ${instead}, and '--include-env-file ${oneLine(first)}' sends the file.`)
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MAX_SHOWN).map(oneLine).join(', ')
  return paths.length > MAX_SHOWN ? `${shown} and ${paths.length - MAX_SHOWN} more` : shown
}

function largestOf({ files }: Source): string {
  const largest = files.toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_SHOWN)
  const shown = largest.map(({ path, bytes }) => `  ${sizeOf(bytes).padStart(10)}  ${oneLine(path)}`)
  return ['The largest files:', ...shown, 'A line in .headlandignore leaves a file or a folder out.'].join('\n')
}

function listFiles({ terminal, options }: ClientCall, { files }: Source): number {
  const listed = files.map(({ path, bytes }) => ({ path, bytes }))
  if (options.json) terminal.print(JSON.stringify(listed))
  else for (const { path } of listed) terminal.print(printableLine(path))
  return EXIT.done
}

function printPlan({ terminal, options }: ClientCall, { plan }: ValidatedPlan): number {
  terminal.print(options.json ? JSON.stringify({ event: 'plan', plan }) : JSON.stringify(plan, null, 2))
  return EXIT.done
}
