export { type AddressRange, createAddressMatch, readAddressRange, writeAddressRange } from './address-ranges.ts'
export * from './client-network.ts'
export * from './entity-tags.ts'
export * from './header-text.ts'
