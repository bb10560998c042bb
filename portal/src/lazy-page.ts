/**
 * A page that is loaded when it is first opened, and asked for again when that fails. Browsers drop requests whenever an
 * interface of their machine comes or goes; builds make interfaces, so whoever runs Headland at home would see it.
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
