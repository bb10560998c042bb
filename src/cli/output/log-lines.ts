/** The logs of a service: that of a running app, and those of builds. */
import { type Client, ENVIRONMENT, type LogLine } from '../../client/index.ts'
import { buildIn, type EnvironmentNames } from '../project/resource-names.ts'

export type { LogLine } from '../../client/index.ts'

type Following = {
  /** The number of the last line that the caller has already. */
  after?: number
  signal: AbortSignal
  /** Called when the connection is lost, and when it is back. */
  onConnection(isThere: boolean): void
}

export type Log = {
  /** The number of its last line. */
  lastLine(): Promise<number>
  /** The lines after the given one that it has now. */
  read(after: number): AsyncGenerator<LogLine>
  /** Ends when the log does; that of an app has no end. Throws when the service refuses, or is away for too long. */
  follow(options: Following): AsyncGenerator<LogLine>
}

type Asked = { client: Pick<Client, 'lastLine' | 'readLog' | 'follow'> }

export function logOfApp({ client }: Asked, path: EnvironmentNames): Log {
  const route = `GET ${ENVIRONMENT}/logs` as const
  return {
    lastLine: () => client.lastLine(route, { path }),
    read: (after) => client.readLog(route, { path, after }),
    follow: (options) => client.follow(route, { path, ...options }),
  }
}

/** By the name of the build. */
export function logOfBuild({ client }: Asked, build: string): Log {
  const route = `GET ${ENVIRONMENT}/builds/{build}/log` as const
  const path = buildIn(build)
  return {
    lastLine: () => client.lastLine(route, { path }),
    read: (after) => client.readLog(route, { path, after }),
    follow: (options) => client.follow(route, { path, ...options }),
  }
}
