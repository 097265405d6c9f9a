import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const OLDEST = 22

/** A Node that the suite runs on: the installed one, or our own where it is new enough. The suite fails to load on 20. */
export function node22(): string {
  const installed = fileURLToPath(new URL(`../node_modules/node-${platform()}/bin/node`, import.meta.url))
  if (existsSync(installed)) return installed
  if (Number.parseInt(process.versions.node, 10) >= OLDEST) return process.execPath
  throw new Error(
    `The conformance suite needs Node ${OLDEST}, and npm has none for ${platform()}: run this on Node 22.`,
  )
}

const platform = () => `${process.platform}-${process.arch}`
