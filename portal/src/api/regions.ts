/** Where apps are hosted. A region is shown only where apps are in more than one. */
import type { App, Region } from './types.ts'

/** The name that people read: `Europe West` of `regions/EU-W`. */
export const regionName = (regions: readonly Region[] | undefined, name: string): string =>
  regions?.find((region) => region.name === name)?.displayName ?? name.replace('regions/', '')

/** Whether apps are in more than one region. */
export const areRegionsShown = (apps: readonly Pick<App, 'region'>[] | undefined): boolean =>
  new Set(apps?.map(({ region }) => region)).size > 1

/** The region that the next app is likely to be in: that of the newest one, else the first. */
export function likelyRegion(
  regions: readonly Region[] | undefined,
  apps: readonly Pick<App, 'region' | 'createTime'>[] | undefined,
): string {
  const newest = apps?.toSorted((a, b) => Date.parse(b.createTime) - Date.parse(a.createTime))[0]?.region
  return regions?.find(({ name }) => name === newest)?.name ?? regions?.[0]?.name ?? ''
}
