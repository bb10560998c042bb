/**
 * Sends a part of a file. It is read piece by piece into a buffer that is used again and again: a new one for each piece would be
 * most of the work. The next piece is read when the connection has taken the one before it, so a client that reads slowly costs
 * one buffer.
 */
import { close, read } from 'node:fs'
import { Socket } from 'node:net'
import { promisify } from 'node:util'
import type { ReadResponse } from './visit.ts'

/** From `start` up to and without `end`, of a file that is open. `sendPart` closes it. */
export type OpenPart = { descriptor: number; start: number; end: number }

/** A longer piece hardly costs less for each byte. */
const PIECE_BYTES = 256 * 1024
/** Long pieces at a time: further responses get short ones, so that many slow clients take little memory. */
const MAX_LENT = 32
const SHORT_PIECE_BYTES = 64 * 1024

const closeFile = promisify(close)
const pieces = createPieces()

/**
 * Writes the part to a response whose head was written, and ends it. Resolves when the file is closed, also where the client has
 * left; rejects, with the response not ended, when the file cannot be read to its end.
 */
export async function sendPart({ descriptor, start, end }: OpenPart, response: ReadResponse): Promise<void> {
  // Within this process, the other end of a connection may keep what is written to it.
  const isCopied = response.socket instanceof Socket
  const lent = isCopied && end - start > SHORT_PIECE_BYTES ? pieces.borrow() : undefined
  const own = isCopied && !lent ? Buffer.allocUnsafeSlow(Math.min(end - start, SHORT_PIECE_BYTES)) : undefined
  let isGone = response.destroyed
  let wake: () => void = noop
  response.once('close', () => {
    isGone = true
    wake()
  })
  /** Nothing refers to the buffer any more. */
  let isTaken = true
  try {
    for (let at = start; at < end && !isGone; ) {
      const buffer = lent ?? own ?? Buffer.allocUnsafeSlow(SHORT_PIECE_BYTES)
      const count = await readAt(descriptor, buffer, Math.min(buffer.length, end - at), at)
      if (count === 0) throw new Error('the file is shorter than it was')
      at += count
      if (isGone) break
      isTaken = false
      await new Promise<void>((resolve) => {
        wake = resolve
        response.write(buffer.subarray(0, count), () => {
          isTaken = true
          resolve()
        })
      })
    }
    if (!isGone) response.end()
  } finally {
    if (lent) pieces.giveBack(isTaken ? lent : undefined)
    await closeFile(descriptor)
  }
}

const readAt = (descriptor: number, buffer: Buffer, length: number, at: number): Promise<number> =>
  new Promise((resolve, reject) => {
    read(descriptor, buffer, 0, length, at, (error, count) => (error ? reject(error) : resolve(count)))
  })

function createPieces() {
  const free: Buffer[] = []
  let lent = 0

  return {
    borrow(): Buffer | undefined {
      if (lent >= MAX_LENT) return undefined
      lent++
      return free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES)
    },

    /** Without the buffer, where a connection was closed while it was being written: it is not used again. */
    giveBack(buffer: Buffer | undefined) {
      lent--
      if (buffer && free.length < MAX_FREE) free.push(buffer)
    },
  }
}

/** Kept for the next response. */
const MAX_FREE = 4

function noop() {
  // Nothing waits.
}
