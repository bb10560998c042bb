export * from './client-network.ts'
export * from './header-text.ts'
