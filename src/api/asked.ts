/** Who asks for a build or a purge over the API, as the ledger records it. */
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import type { Asked } from '../triggers/index.ts'

export const askedBy = (request: FastifyRequest, action: resources.TriggerAction, clock: Clock): Asked => ({
  action,
  source: 'API',
  address: request.ip,
  userAgent: request.headers['user-agent'] ?? '',
  time: clock.now(),
})
