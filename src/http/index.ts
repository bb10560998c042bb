export * from './client-network.ts'
export * from './entity-tags.ts'
export * from './header-text.ts'
