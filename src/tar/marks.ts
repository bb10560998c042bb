/**
 * The overlay's marks, which Node can neither read nor write: the attribute of a folder that hides the lower layers, and the
 * device that hides a file. GNU tar does both, and is part of every Debian.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Opaque, TarEntry } from './entry.ts'
import { createTar, opaqueIn } from './tar.ts'
import { END } from './write.ts'

/** What GNU tar writes and reads. */
const { headerOf, bytesOf, nextHeader } = createTar({
  kinds: ['folder', 'whiteout'],
  isHeaderAscii: false,
  extended: (entry) => entry,
  broken: (how, options) => new Error(`the output of tar is broken: ${how}`, options),
})

const ATTRIBUTES = [
  '--xattrs',
  ...(['trusted', 'user'] as const).map((kind) => `--xattrs-include=${kind}.overlay.opaque`),
]

export type MarkEntry = TarEntry<'folder' | 'whiteout'>

/** The marked ones among these folders of `top`. Paths are relative to it. */
export async function opaqueAmong(top: string, folders: readonly string[]): Promise<Map<string, Opaque>> {
  const marked = new Map<string, Opaque>()
  if (folders.length === 0) return marked
  const list = ['--no-recursion', '--null', '--verbatim-files-from', '--files-from=-']
  const options = ['--create', '--format=pax', '--file=-', ...ATTRIBUTES, `--directory=${top}`, ...list]
  const names = folders.map((folder) => `./${folder}\0`)
  await runTar(options, Readable.from([names.join('')]), async (stdout) => {
    const bytes = bytesOf(stdout)
    // The number of folders is known, so the end marker need not be read.
    for (const folder of folders) {
      const { records } = (await nextHeader(bytes)) ?? {}
      const kind = records && opaqueIn(records)
      if (kind) marked.set(folder, kind)
    }
    for await (const _ of stdout);
  })
  return marked
}

/** Writes whiteouts and marks into a folder of which no part is a link. The marked folders exist already. */
export async function putMarks(folder: string, entries: readonly MarkEntry[]) {
  if (entries.length === 0) return
  const options = ['--extract', '--file=-', ...ATTRIBUTES, '--no-same-owner', '--same-permissions']
  const source = Readable.from([...entries.map(headerOf), END])
  await runTar([...options, '--keep-directory-symlink', `--directory=${folder}`], source, async (stdout) => {
    for await (const _ of stdout);
  })
}

export class TarMissing extends Error {
  constructor(options?: ErrorOptions) {
    super('Layers of outputs cannot be kept without GNU tar. Install the package tar.', options)
    this.name = 'TarMissing'
  }
}

async function runTar(args: string[], input: Readable, read: (stdout: Readable) => Promise<void>) {
  const child = spawn('tar', args, { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' }, stdio: 'pipe' })
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(-2000)
  })
  const ended = once(child, 'close').catch((error) => {
    throw new TarMissing({ cause: error })
  })
  // Its exit code shows why the pipe broke.
  const [[code]] = await Promise.all([ended, read(child.stdout), pipeline(input, child.stdin).catch(() => undefined)])
  if (code !== 0) throw new Error(`tar ended with ${code}: ${errorOutput.trim()}`)
}
