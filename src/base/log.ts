/**
 * Logs go to stderr: as JSON lines for programs, as text on a terminal. Stdout is for the `ready` line and the output
 * of commands.
 */
import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import type { DestinationStream, Logger } from 'pino'
import { logText } from './text/log-text.ts'

export type Log = Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** `auto`: text where stderr is a terminal, else JSON. */
export const LOG_FORMATS = ['auto', 'json', 'text'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

const STDERR = 2

const require = createRequire(import.meta.url)

export function createLog(level: LogLevel, format: LogFormat = 'auto'): Log {
  // Loaded with the first log, since an edge has none.
  const { pino, destination }: typeof import('pino') = require('pino')
  // Asynchronous: under load, lines that arrive while one is written are written together, and a paused terminal
  // (Ctrl-S) blocks nothing else.
  const stderr = destination({ fd: STDERR, sync: false })
  const isText = format === 'text' || (format === 'auto' && isatty(STDERR))
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    isText ? asText(stderr) : stderr,
  )
}

function asText(stderr: DestinationStream): DestinationStream {
  // Node evaluates NO_COLOR, FORCE_COLOR and the terminal, and adds colours only if they are supported.
  const isColoured = styleText('bold', 'x', { stream: process.stderr }) !== 'x'
  return { write: (line) => stderr.write(logText(line, isColoured)) }
}
