/** Who asks for a build or a purge over the API, as the ledger records it. */
import type { Clock } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import type { Asked } from '../triggers/index.ts'
import type { RouteCall } from './route.ts'

type Caller = Pick<RouteCall<unknown, unknown>, 'request' | 'principal'>

export const askedBy = ({ request, principal }: Caller, action: resources.RecordedAction, clock: Clock): Asked => ({
  action,
  requestedBy: principal.requester,
  source: 'API',
  address: request.ip,
  userAgent: request.headers['user-agent'] ?? '',
  time: clock.now(),
})
