/**
 * What files of tests that run in one process share: a swarm, the image of an app in a registry, PostgreSQL. Each is started
 * when the first file asks for it, and ends when all tests are over.
 */
import { after } from 'node:test'
import { NEEDS_REGISTRY } from '../images/registry.ts'
import { inReverse } from '../machine/docker-engine.ts'
import { NEEDS_OWN_NETWORK } from '../machine/own-network.ts'
import { NEEDS_SWARM, type Swarm, startSwarm } from '../machine/swarm.ts'
import { NEEDS_POSTGRES, type Postgres, startPostgres } from '../postgres/server.ts'
import { type AppImage, startImage } from './image.ts'

/** The option of a test that needs any of it. */
export const skip = NEEDS_OWN_NETWORK.skip || NEEDS_SWARM.skip || NEEDS_REGISTRY.skip || NEEDS_POSTGRES.skip

/** What is added last ends first. */
export const scope = inReverse({ after })

let swarm: Promise<Swarm> | undefined
let image: Promise<AppImage> | undefined
let postgres: Promise<Postgres> | undefined

/** The process of the test is at the address between the nodes. No service and no secret is left in it by a file. */
export function sharedSwarm(): Promise<Swarm> {
  swarm ??= startSwarm(scope, ['EU-W', 'EU-W', 'US-C'], { isHere: true })
  return swarm
}

/** All nodes have it. */
export function sharedImage(): Promise<AppImage> {
  image ??= sharedSwarm().then((there) => startImage(scope, there))
  return image
}

/** The address of a database of its own. */
export async function ownDatabase(): Promise<string> {
  postgres ??= startPostgres(scope, { isSocket: true })
  return (await postgres).createDatabase()
}
