/**
 * The overlay's marks, which Node can neither read nor write: the attribute of a folder that hides the lower layers, and the
 * device that hides a file. GNU tar does both, and is part of every Debian.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BLOCK, checksumOf, END, padding, record } from '../tar/write.ts'

/** Root has attributes of its own; other users mount overlays with theirs. */
const KINDS = ['trusted', 'user'] as const
const keyOf = (kind: string): string => `SCHILY.xattr.${kind}.overlay.opaque`
const ATTRIBUTES = ['--xattrs', ...KINDS.map((kind) => `--xattrs-include=${kind}.overlay.opaque`)]

/** The folders of `top` that hide the lower layers. Paths are relative to it. */
export async function opaqueFolders(top: string, folders: readonly string[]): Promise<Set<string>> {
  const marked = new Set<string>()
  if (folders.length === 0) return marked
  const list = ['--no-recursion', '--null', '--verbatim-files-from', '--files-from=-']
  const options = ['--create', '--format=pax', '--file=-', ...ATTRIBUTES, `--directory=${top}`, ...list]
  const names = folders.map((folder) => `./${folder}\0`)
  const output = await runTar(options, Readable.from([names.join('')]))
  let at = 0
  for (const folder of folders) {
    if (output.toString('latin1', at + 156, at + 157) === 'x') {
      const size = Number.parseInt(output.toString('latin1', at + 124, at + 135), 8)
      const records = output.toString('utf8', at + BLOCK, at + BLOCK + size)
      if (KINDS.some((kind) => records.includes(` ${keyOf(kind)}=y\n`))) marked.add(folder)
      at += BLOCK + size + padding(size).byteLength
    }
    at += BLOCK
  }
  return marked
}

export type Marks = {
  /** Paths of files of lower layers that are removed. */
  whiteouts: readonly string[]
  /** Folders that hide the lower layers; they exist already. */
  opaque: readonly string[]
}

/** Writes marks into a folder of which no part is a link. */
export async function putMarks(folder: string, { whiteouts, opaque }: Marks) {
  if (whiteouts.length + opaque.length === 0) return
  const kind = process.getuid?.() === 0 ? 'trusted' : 'user'
  const entries = [
    ...whiteouts.map((path) => entry(path, '3', [])),
    ...opaque.map((path) => entry(`${path}/`, '5', [[keyOf(kind), 'y']])),
  ]
  const options = ['--extract', '--file=-', ...ATTRIBUTES, '--no-same-owner', '--same-permissions']
  await runTar([...options, `--directory=${folder}`], Readable.from([...entries, END]))
}

/** The name is always in a record: it may be long. A device has the numbers 0 and 0. */
function entry(path: string, type: '3' | '5', records: readonly [string, string][]): Buffer {
  const body = Buffer.concat([['path', path] as const, ...records].map(([key, value]) => record(key, value)))
  const mode = type === '5' ? '0000755' : '0000644'
  return Buffer.concat([header('x', '0000644', body.byteLength), body, padding(body.byteLength), header(type, mode, 0)])
}

function header(type: string, mode: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  block.write('mark', 0, 'latin1')
  block.write(mode, 100, 'latin1')
  for (const at of [108, 116, 329, 337]) block.write('0000000', at, 'latin1')
  block.write(size.toString(8).padStart(11, '0'), 124, 'latin1')
  block.write('00000000000', 136, 'latin1')
  block.write(type, 156, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  block.write(`${checksumOf(block).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}

async function runTar(args: readonly string[], input: Readable): Promise<Buffer> {
  const child = spawn('tar', args, { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' }, stdio: 'pipe' })
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(-2000)
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = once(child, 'close').catch((error) => {
    throw new Error('Images of layered outputs cannot be made without GNU tar. Install the package tar.', {
      cause: error,
    })
  })
  // The exit code shows why the pipe broke.
  const [[code]] = await Promise.all([ended, pipeline(input, child.stdin).catch(() => undefined)])
  if (code !== 0) throw new Error(`tar ended with ${code}: ${errorOutput.trim()}`)
  return Buffer.concat(chunks)
}
