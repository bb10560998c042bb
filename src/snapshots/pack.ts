/**
 * A snapshot as one sealed file: compressed, then encrypted with AES-256-GCM under a key of its environment. All of it is sealed,
 * since answers to requests with credentials are among them. Layout: a nonce, the sealed bytes, a tag; inside, the lengths of two
 * files and the files.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip, createGzip } from 'node:zlib'

export const FILES = ['index', 'bodies'] as const

/** `key`: 256 bits in base64url. `place`: what the file belongs to; it does not open for another one. */
export type Sealing = { key: string; place: string }

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Two lengths of six bytes. */
const HEAD_BYTES = 12
const CHUNK_BYTES = 256 * 1024

/** The bytes of a sealed snapshot. The folder was written by a program in the sandbox: links and larger files are refused. */
export async function* sealFolder(folder: string, { key, place }: Sealing, maxBytes: number): AsyncGenerator<Buffer> {
  const files: FileHandle[] = []
  try {
    for (const name of FILES) files.push(await openRegular(join(folder, name)))
    const sizes = await Promise.all(files.map(async (file) => (await file.stat()).size))
    if (sizes.reduce((sum, size) => sum + size, 0) > maxBytes) throw new Error('a snapshot is too large')
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64url'), nonce)
    cipher.setAAD(Buffer.from(place))
    yield nonce
    const zip = createGzip({ level: 4 })
    const written = (async () => {
      const head = Buffer.alloc(HEAD_BYTES)
      for (const [at, size] of sizes.entries()) head.writeUIntBE(size, at * 6, 6)
      zip.write(head)
      for (const [at, file] of files.entries()) {
        const options = { autoClose: false, start: 0, end: Math.max(0, (sizes[at] ?? 0) - 1) }
        if ((sizes[at] ?? 0) === 0) continue
        for await (const chunk of file.createReadStream(options)) {
          if (!zip.write(chunk)) await new Promise((resolve) => zip.once('drain', resolve))
        }
      }
      zip.end()
    })()
    written.catch((error) => zip.destroy(error))
    for await (const chunk of zip) yield cipher.update(chunk)
    await written
    yield Buffer.concat([cipher.final(), cipher.getAuthTag()])
  } finally {
    await Promise.all(files.map((file) => file.close()))
  }
}

/** Writes the two files of a sealed snapshot into a folder. Rejects if it was changed or is of another environment. */
export async function openSealed(file: string, folder: string, sealing: Sealing, maxBytes: number): Promise<void> {
  const targets: FileHandle[] = []
  try {
    for (const name of FILES) targets.push(await open(join(folder, name), 'wx', 0o644))
    let lengths: number[] | undefined
    let held: Buffer = Buffer.alloc(0)
    let taken = 0
    for await (const chunk of plainOf(file, sealing)) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      if (!lengths) {
        if (held.length < HEAD_BYTES) continue
        lengths = [held.readUIntBE(0, 6), held.readUIntBE(6, 6)]
        if (lengths.reduce((sum, length) => sum + length, 0) > maxBytes) throw new Error('a snapshot is too large')
        held = held.subarray(HEAD_BYTES)
      }
      const first = held.subarray(0, Math.max(0, (lengths[0] ?? 0) - taken))
      if (first.length > 0) await targets[0]?.write(first)
      const second = held.subarray(first.length)
      if (second.length > 0) await targets[1]?.write(second)
      taken += held.length
      if (taken > (lengths[0] ?? 0) + (lengths[1] ?? 0)) throw new Error('a snapshot is longer than it says')
      held = Buffer.alloc(0)
    }
    if (!lengths || taken !== (lengths[0] ?? 0) + (lengths[1] ?? 0)) throw new Error('a snapshot is cut off')
  } finally {
    await Promise.all(targets.map((target) => target.close()))
  }
}

async function* plainOf(path: string, { key, place }: Sealing): AsyncGenerator<Buffer> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    if (size < NONCE_BYTES + TAG_BYTES) throw new Error('a snapshot is cut off')
    const [nonce, tag] = [Buffer.alloc(NONCE_BYTES), Buffer.alloc(TAG_BYTES)]
    await file.read(nonce, 0, NONCE_BYTES, 0)
    await file.read(tag, 0, TAG_BYTES, size - TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key, 'base64url'), nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(place))
    decipher.setAuthTag(tag)
    const unzip = createGunzip()
    const written = (async () => {
      const end = size - TAG_BYTES - 1
      if (end >= NONCE_BYTES) {
        const options = { autoClose: false, start: NONCE_BYTES, end, highWaterMark: CHUNK_BYTES }
        for await (const chunk of file.createReadStream(options)) {
          if (!unzip.write(decipher.update(chunk))) await new Promise((resolve) => unzip.once('drain', resolve))
        }
      }
      unzip.end(decipher.final())
    })()
    written.catch((error) => unzip.destroy(error))
    for await (const chunk of unzip) yield chunk
    await written
  } finally {
    await file.close()
  }
}

async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new Error('a file of a snapshot is none')
}
