export { createDomainChecks, createNameCheck, type DomainChecks, type NameCheck } from './checks.ts'
export { createLookup, type LookUp } from './lookup.ts'
