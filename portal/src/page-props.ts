/** What the router passes to a page. The pages import it from here, and `pages.tsx` imports the pages. */
import type { Place } from './api/names.ts'

/** A page of an account gets the parameters of its path. */
export type AccountPageProps = Record<string, string>

/** A page of an environment; `id` comes from the path, where the path has one. */
export type EnvironmentPageProps = { place: Place; id: string }
