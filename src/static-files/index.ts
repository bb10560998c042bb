export { serveSiteFiles } from './serve.ts'
export { createSiteStore, type SiteStore } from './store.ts'
