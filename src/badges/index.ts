export { type Badge, type Badges, createBadges } from './badges.ts'
