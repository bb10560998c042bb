/**
 * Notices a peer on another machine that is gone without a word: a network that drops packets, a machine without power. Each side
 * sends an empty line every two seconds, and ends a connection on which nothing arrived for three such times in a row. They are
 * counted, not measured: a process that was stopped for longer finds what has arrived meanwhile before it gives up.
 */
import type { Socket } from 'node:net'

const PULSE_MS = 2000
const MAX_SILENT = 3

export function keepPulse(socket: Socket, pulseMs = PULSE_MS) {
  let silent = 0
  socket.on('data', () => {
    silent = 0
  })
  const timer = setInterval(() => {
    silent += 1
    if (silent > MAX_SILENT) socket.destroy()
    else if (socket.writable) socket.write('\n')
  }, pulseMs)
  socket.once('close', () => clearInterval(timer))
}
