export { type ClusterApps, type ClusterAppsParts, createClusterApps } from './cluster-apps.ts'
