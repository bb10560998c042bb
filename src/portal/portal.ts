/**
 * The portal's files, built when its sources have changed.
 *
 * States: `building` (a process makes the files; the API is up meanwhile), `ready` (they are in memory), `failed` (there
 * are none, and `fault` says why). A build is tried once per start, and delays nothing else.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../base/index.ts'
import { type PortalFiles, readPortalFiles } from './files.ts'
import { builtIn, digestOfSources } from './sources.ts'

export type PortalState =
  | { state: 'ready'; files: PortalFiles }
  | { state: 'building' }
  | { state: 'failed'; fault: string }

export type Portal = {
  now(): PortalState
  /** Resolves once nothing is being built any more. */
  settled: Promise<void>
  stop(): void
}

/** The portal of this package: the same relative path from `dist/portal` and from `src/portal`. */
const FOLDER = fileURLToPath(new URL('../../portal', import.meta.url))
/** Beside this file: TypeScript in a checkout, compiled in a package. */
const MAKE = fileURLToPath(new URL(`./make${extname(import.meta.url)}`, import.meta.url))
const BUILD_MS = 180_000
const FAULT_LENGTH = 2000

type Given = { log: Log; folder?: string; buildMs?: number }

export function openPortal({ log, folder = FOLDER, buildMs = BUILD_MS }: Given): Portal {
  let now: PortalState
  const ending = new AbortController()
  const none = { settled: Promise.resolve(), now: () => now, stop: () => ending.abort() }

  function fail(fault: string) {
    now = { state: 'failed', fault }
    log.error(
      { fault },
      'the portal cannot be shown; the API works. Run npm ci in the folder of Headland, then start again',
    )
  }

  function load(digest: string) {
    try {
      now = { state: 'ready', files: readPortalFiles(join(builtIn(folder), digest)) }
    } catch (error) {
      fail((error as Error).message)
    }
  }

  const wanted = digestOfSources(folder)
  const found = wanted ?? onlyBuild(folder)
  if (found !== undefined && existsSync(join(builtIn(folder), found))) {
    load(found)
    return none
  }
  if (wanted === undefined) {
    fail(`there are neither sources nor a built portal in ${folder}`)
    return none
  }
  now = { state: 'building' }
  const begun = performance.now()
  const settled = make(folder, wanted, AbortSignal.any([ending.signal, AbortSignal.timeout(buildMs)])).then((fault) => {
    if (ending.signal.aborted) return
    if (fault !== undefined) return fail(fault)
    log.info({ seconds: Math.round((performance.now() - begun) / 100) / 10 }, 'the portal is built')
    load(wanted)
  })
  return { ...none, settled }
}

function onlyBuild(folder: string): string | undefined {
  const dist = builtIn(folder)
  return existsSync(dist) ? readdirSync(dist).find((name) => !name.startsWith('.')) : undefined
}

/** Resolves to the error, or to undefined. */
function make(folder: string, digest: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(process.execPath, [MAKE, folder, digest], {
      // Whatever environment the service was started with, visitors of the portal get a production build.
      env: { NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-FAULT_LENGTH)
    })
    child.once('error', (error) => resolve(signal.aborted ? 'building the portal took too long' : error.message))
    child.once('close', (code) => resolve(code === 0 ? undefined : output.trim() || `the build ended with ${code}`))
  })
}
