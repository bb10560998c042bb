/** Logs of a service at the paths of commands: how they are read, followed and resumed is the client's. */
import {
  type EventForm,
  type FollowOptions,
  followEvents as follow,
  type LogLine,
  lastNumber as lastOf,
  lineIn,
  readLines,
} from '../../client/index.ts'
import { asCallFailed } from '../connection/failures.ts'
import type { Service } from '../connection/service.ts'
import type { Path } from '../project/path.ts'

export type { EventForm, LogLine } from '../../client/index.ts'

/** Ends when the log does; a log of a running app has no end. Throws when the service refuses, or is away for too long. */
export const followLog = (service: Service, path: Path, options: FollowOptions): AsyncGenerator<LogLine> =>
  followEvents(service, path, { event: 'line', read: lineIn }, options)

/** The same for other streams. */
export const followEvents = <Item extends { number: number }>(
  service: Service,
  path: Path,
  form: EventForm<Item>,
  options: FollowOptions,
): AsyncGenerator<Item> => failing(service, follow(asking(service, path), form, options))

/** The lines after the given one that a log has now. */
export const readLog = (service: Service, path: Path, after: number): AsyncGenerator<LogLine> =>
  failing(service, readLines(asking(service, path), after))

/** The number of the last line that a log has. */
export async function lastNumber(service: Service, path: Path): Promise<number> {
  try {
    return await lastOf(asking(service, path))
  } catch (error) {
    throw asCallFailed(error, service.url)
  }
}

const asking =
  (service: Service, path: Path): Parameters<typeof follow>[0] =>
  ({ signal, headers = {}, query }) =>
    service.ask(path, { headers, query, ...(signal ? { signal } : {}) })

async function* failing<Item>({ url }: Service, items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    yield* items
  } catch (error) {
    throw asCallFailed(error, url)
  }
}
