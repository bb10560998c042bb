/** Logs go to stderr as JSON lines; stdout belongs to the `ready` line and to what commands print. */
import { destination, type Logger, pino } from 'pino'

export type Log = Logger

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export function createLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Not waiting for each line: under load, lines that come while one is written go together.
    destination({ fd: 2, sync: false }),
  )
}
