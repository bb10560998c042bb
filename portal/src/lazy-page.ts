/**
 * A page whose code is loaded when it is first opened, with retries. Browsers drop requests when a network interface of
 * their machine appears or disappears. Builds create interfaces, so this happens where the browser and Headland run on
 * one machine.
 */
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'

const WAITS_MS = [200, 800, 2_000]

export const lazyPage = <P>(
  load: () => Promise<{ default: ComponentType<P> }>,
): LazyExoticComponent<ComponentType<P>> => lazy(() => attempt(load, WAITS_MS))

async function attempt<T>(load: () => Promise<T>, waits: readonly number[]): Promise<T> {
  try {
    return await load()
  } catch (error) {
    const [wait, ...later] = waits
    if (wait === undefined) throw error
    await new Promise((resolve) => setTimeout(resolve, wait))
    return attempt(load, later)
  }
}
