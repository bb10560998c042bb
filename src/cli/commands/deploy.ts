/** Sends a folder, and follows what becomes of it. */
import { readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { EXIT, type resources, type schema, UsageError } from '../../contract/index.ts'
import { filesOf, type Source } from '../archive/files.ts'
import { type Archive, withArchive } from '../archive/pack.ts'
import type { ClientCall } from '../command.ts'
import { followBuild } from '../follow-build.ts'
import { type Interrupts, listenForInterrupts } from '../interrupts.ts'
import { findProject, PROJECT_FILE, writeProject } from '../project-file.ts'
import type { Report } from '../report.ts'
import { reportFor } from '../reports.ts'
import { oneLine, sizeOf } from '../rows.ts'
import { CallFailed, type Service } from '../service.ts'
import { appNameFrom, findTarget, type Target } from '../target.ts'
import { harmless } from '../terminal.ts'
import { upload } from '../upload.ts'
import { atService, lastPart } from '../where.ts'

export async function deploy(call: ClientCall): Promise<number> {
  const interrupts = listenForInterrupts()
  try {
    return await deployUntil(call, interrupts)
  } catch (error) {
    // Whatever was under way says in its own words that it was stopped.
    interrupts.signal.throwIfAborted()
    throw error
  } finally {
    interrupts.close()
    call.terminal.status(undefined)
  }
}

async function deployUntil(call: ClientCall, interrupts: Interrupts): Promise<number> {
  const { terminal, options } = call
  const { signal } = interrupts
  const report = reportFor(call)
  const folder = await whichFolder(call)
  // Before anything is asked or made: a folder with nothing to send ends here.
  const source = await filesOf(folder)
  if (options['list-files']) return listFiles(call, source)
  tellWhatIsOdd(source, report)
  const { service } = await atService({ ...call, folder })
  const target = await whichTarget(call, folder, { service, report, signal })
  const sent = await withArchive(source.files, (archive) => send(archive), signal)
  if ('plan' in sent) return printPlan(call, sent)
  report.accepted(sent)
  if (options.detach) {
    report.detached(sent)
    return EXIT.done
  }
  const cancelsWhenLeft = options['cancel-on-interrupt'] === true
  return await followBuild({ service, operation: sent, report, terminal, interrupts, cancelsWhenLeft })

  async function send(archive: Archive): Promise<resources.Operation | ValidatedPlan> {
    report.archive(archive)
    if (archive.bytes > LARGE_BYTES) report.note(`The archive is large. ${largestOf(source)}`)
    const isOnlyValidated = options['dry-run'] === true
    const asked = { signal, isOnlyValidated, onProgress: report.uploading }
    try {
      return await upload(service, target.environment.name, archive, asked)
    } catch (error) {
      const isTooLarge = error instanceof CallFailed && error.reason === 'ARCHIVE_TOO_LARGE'
      if (isTooLarge) report.note(largestOf(source))
      throw error
    } finally {
      terminal.status(undefined)
    }
  }
}

type ValidatedPlan = schema.Static<typeof resources.validatedPlan>

/** What was named; else the folder of `.headland.json`, so that it is the same from every folder of the project. */
async function whichFolder({ folder, positionals }: ClientCall): Promise<string> {
  const [named] = positionals
  if (named === undefined) return (await findProject(folder))?.folder ?? folder
  const found = await stat(resolve(folder, named)).catch(() => undefined)
  if (!found?.isDirectory()) throw new UsageError(`${named} is not a folder`)
  return resolve(folder, named)
}

type Parts = { service: Service; report: Report; signal: AbortSignal }

/** Where it goes, written down beside the source unless that was done before. */
async function whichTarget(call: ClientCall, folder: string, parts: Parts): Promise<Target> {
  const found = await findProject(folder)
  const project = found?.project ?? {}
  const suggestedApp = appNameFrom(await nameOfPackage(folder), basename(folder))
  const mayCreate = !call.options['dry-run']
  const target = await findTarget({ ...parts, call, project, suggestedApp }, { mayCreate })
  const { account, app, environment } = target
  const decided = { url: parts.service.url, account, app, environment: lastPart(environment) }
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
    const { name } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    return typeof name === 'string' ? name : undefined
  } catch {
    // Whatever is wrong with it, the build will tell; a name is only suggested.
    return undefined
  }
}

const LARGE_BYTES = 50_000_000
const BUILD_OUTPUT = /(?:^|\/)(\.next|\.nuxt|\.output|\.svelte-kit|\.astro)\//
const SETTINGS = /(?:^|\/)\.env(\.[^/]*)?$/
const SHOWN_MOST = 10

function tellWhatIsOdd({ files, skipped, hasRules }: Source, report: Report) {
  for (const { path, why } of skipped.slice(0, SHOWN_MOST)) report.note(`${path} is not sent: ${why}.`)
  const output = files.map(({ path }) => BUILD_OUTPUT.exec(path)?.[1]).find(Boolean)
  if (output) report.note(`${output} is sent too, though every build makes its own: leave it out in .gitignore.`)
  const settings = files.filter(({ path }) => SETTINGS.test(path) && !/\.(example|sample|template)$/.test(path))
  if (hasRules || settings.length === 0) return
  const named = settings.map(({ path }) => path).join(', ')
  report.note(`${named} is sent too. If it holds secrets, leave it out in .gitignore, and use 'headland variables'.`)
}

function largestOf({ files }: Source): string {
  const largest = files.toSorted((a, b) => b.bytes - a.bytes).slice(0, SHOWN_MOST)
  const shown = largest.map(({ path, bytes }) => `  ${sizeOf(bytes).padStart(10)}  ${oneLine(path)}`)
  return ['The largest files:', ...shown, 'A line in .headlandignore leaves a file or a folder out.'].join('\n')
}

function listFiles({ terminal, options }: ClientCall, { files }: Source): number {
  const listed = files.map(({ path, bytes }) => ({ path, bytes }))
  if (options.json) terminal.print(JSON.stringify(listed))
  else for (const { path } of listed) terminal.print(harmless(path))
  return EXIT.done
}

function printPlan({ terminal, options }: ClientCall, { plan }: ValidatedPlan): number {
  terminal.print(options.json ? JSON.stringify({ event: 'plan', plan }) : JSON.stringify(plan, null, 2))
  return EXIT.done
}
