import type { LeftOutUpstream } from '../adapters/project-files/index.ts'
import { StdioUpstream, type UpstreamConfig } from '../contracts/index.ts'

/** What people are told wherever an upstream whose entry is wrong is missing. */
export function wrongEntryText({ reason }: LeftOutUpstream): string {
  return `Its entry in the configuration is wrong: ${reason} \`quartermaster doctor\` says where.`
}

/** Stands for an entry that is wrong, so that an agent that has it keeps everything else. It can never be run. */
export function standInFor(leftOut: LeftOutUpstream): UpstreamConfig {
  const wrong = wrongEntryText(leftOut)
  const config = StdioUpstream.parse({ command: 'none', enabled: false, short: wrong.slice(0, LONGEST_SHORT) })
  return { ...config, command: NO_PROGRAM, wrong }
}

/** No program can have this name: whoever overlooks that it is wrong, and switched off, finds nothing to start. */
const NO_PROGRAM = '\0'
const LONGEST_SHORT = 1024
