/** Visitors: some connections that send requests continuously, and record every response that was not a good one. */
import { Agent, request } from 'node:http'
import type { Scope } from '../folder.ts'
import type { TestService } from './service.ts'

export type Visitors = { count(): number; stop(): Promise<{ count: number; failures: string[] }> }

/** They also stop with the test, so that one that fails does not go on for ever. */
export function startVisitors(t: Scope, service: TestService, url: string, connections = 4): Visitors {
  const { hostname, port } = new URL(service.edge)
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const failures: string[] = []
  let count = 0
  let isOver = false

  function visit(): Promise<void> {
    return new Promise((resolve) => {
      const asked = request(
        { host: hostname, port, agent, path: '/', headers: { host: new URL(url).host } },
        (response) => {
          response.resume()
          response.once('end', () => {
            count += 1
            if (response.statusCode !== 200) failures.push(`status ${response.statusCode}`)
            resolve()
          })
          response.once('error', (error) => {
            failures.push(`response: ${error.message}`)
            resolve()
          })
        },
      )
      asked.once('error', (error) => {
        failures.push(`request: ${error.message}`)
        resolve()
      })
      asked.end()
    })
  }

  async function visitor() {
    while (!isOver) await visit()
  }
  const visitors = Array.from({ length: connections }, visitor)

  async function stop() {
    isOver = true
    await Promise.all(visitors)
    agent.destroy()
    return { count, failures }
  }
  t.after(stop)

  return { count: () => count, stop }
}
