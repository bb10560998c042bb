import { Readable } from 'node:stream'
import type { Changes, Clock, OnChange } from '../../base/index.ts'
import { resources } from '../../contract/index.ts'
import type { Auth } from '../auth.ts'
import { type Route, route } from '../route.ts'
import { eventsOf } from '../streams/event-stream.ts'
import type { OpenStreams } from '../streams/open-streams.ts'
import { untilOver } from '../streams/stream.ts'

const tag = 'Events'

type Parts = { clock: Clock; changes: Changes; auth: Auth; streams: OpenStreams; stopping: AbortSignal }

export function eventRoutes({ clock, changes, auth, streams, stopping }: Parts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/accounts/{account}/events',
      tag,
      summary: 'Follow what changes in an account, as server-sent events',
      access: 'viewer',
      reply: { mediaType: 'text/event-stream', schema: resources.eventStream },
      problems: ['TOO_MANY_STREAMS'],
      handle(call) {
        const { account, reply } = call
        streams.enter(call, 'events')
        const signal = untilOver(call, { auth, access: 'viewer', stopping })
        const follow = (listener: OnChange) => changes.follow(account.id, listener)
        const events = eventsOf({ clock, follow, prefix: `accounts/${account.name}/`, signal })
        reply.type('text/event-stream; charset=utf-8')
        reply.header('cache-control', 'no-store')
        return Readable.from(events, { objectMode: false })
      },
    }),
  ]
}
