/** An app that only its own loopback reaches, and visitors from chosen addresses. */
import { request } from 'node:http'
import type { Files } from '../service/deploy.ts'
import type { TestService } from '../service/service.ts'

type Visit = { url: string; path?: string; from: string; forwarded?: string }

/** The response of the site to a visitor from this address. */
export function answerTo(at: Pick<TestService, 'edge'>, { url, path = '/', from, forwarded }: Visit): Promise<string> {
  const { hostname, port } = new URL(at.edge)
  const headers = { host: new URL(url).host, ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) }
  return new Promise((resolve, reject) => {
    const asked = request({ host: hostname, port, path, headers, localAddress: from, agent: false }, async (response) =>
      resolve((await response.setEncoding('utf8').toArray()).join('')),
    )
    asked.once('error', reject).end()
  })
}

/** It listens on its own loopback only. */
export const ON_LOOPBACK: Files = {
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
  'server.js': `
    const server = require('node:http').createServer(({ socket, headers }, response) => {
      response.end([socket.remoteAddress, headers['x-forwarded-for']].join(' '))
    })
    server.listen(process.env.PORT, '127.0.0.1')
    process.on('SIGTERM', () => server.close(() => process.exit()))`,
}
