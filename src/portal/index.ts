export type { PortalFile } from './files.ts'
export { openPortal, type Portal } from './portal.ts'
