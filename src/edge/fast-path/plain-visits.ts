/** Plain requests, which the fast path has read: they are answered without node:http where that changes nothing for visitors. */
import type { Socket } from 'node:net'
import { doing } from '../../watchdog/index.ts'
import type { Answers } from '../answers.ts'
import type { Wire } from '../http/wire.ts'
import type { Loops } from '../loops.ts'
import type { Observer } from '../observe.ts'
import { changeOf } from '../protection/outward.ts'
import { type Routed, toHost } from '../routes.ts'
import { isEncrypted } from '../tls/encrypted.ts'
import type { SecureFront } from '../tls/front.ts'
import type { PlainResponse } from './plain-response.ts'
import type { ParsedRequest, PlainRequest } from './request.ts'

type Parts = {
  secure(): SecureFront
  answers: Answers
  loops: Loops
  observer: Observer
  findTarget(host: string): Routed | undefined
  /** The instance that is asked. */
  choose(target: Routed): Routed | undefined
}

export function createPlainVisits({ secure, answers, loops, observer, findTarget, choose }: Parts) {
  /** Undefined for a visitor who must be checked, or is sent to HTTPS. */
  function openTarget(authority: string, socket: Socket): Routed | undefined {
    const host = toHost(authority)
    if (!isEncrypted(socket) && secure().isElsewhere(host)) return undefined
    const target = findTarget(host)
    return target?.access?.protection ? undefined : target
  }

  return {
    /** The complete response, if it is in memory. */
    peek(request: PlainRequest, socket: Socket): Wire | undefined {
      doing(request.authority)
      const target = openTarget(request.authority, socket)
      const wire = target && answers.peek(target, request, socket)
      if (wire) observer.quick(target, request, socket, wire)
      return wire && secure().changeWire(socket, wire)
    },

    /** Whether the response of an app is fetched here. Everything unusual is not. */
    begin({ authority, target: path, headers, rawHeaders }: ParsedRequest, response: PlainResponse): boolean {
      const { socket } = response
      const target = openTarget(authority, socket)
      if (target?.kind !== 'server' || secure().isChallenge(path) || answers.mayBeEarlier(path, target)) return false
      const request = { method: 'GET', httpVersion: '1.1', headers, rawHeaders, socket }
      const address = { authority, host: toHost(authority), path: detached(path) }
      const visit = { ...address, request, response, isHit: false, isFromJob: false }
      observer.visit(target, visit)
      response.changeHeaders = secure().changeHeaders(socket, changeOf(target.access))
      loops.pass(visit, target, () => answers.fetchOrFail(visit, choose(target)))
      return true
    },
  }
}

/** A part of a request's text would keep all of that text in memory, for as long as its response is stored. */
const detached = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')
