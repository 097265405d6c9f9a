import { resolve } from 'node:path'
import type { Metafile } from 'esbuild'

/** Which of the files that a build read went into which of its bundles. */
export interface BuildGraph {
  /** The files of one bundle, its entry first. */
  filesOf(output: string): string[]
  /** Files that the bundler lists under another name than their path (`x.ts?y`). They may be part of any bundle. */
  strays(read: readonly string[]): string[]
}

export function createBuildGraph({ inputs, outputs }: Metafile, root: string): BuildGraph {
  const paths = new Map(Object.keys(inputs).map(name => [name, resolve(root, name)]))
  const listed = new Set(paths.values())
  return {
    filesOf(output) {
      const entry = outputs[output]?.entryPoint
      const names = new Set(entry === undefined ? [] : [entry])
      // What is added to a set while it is walked comes up as well, once.
      for (const name of names)
        for (const { path, external } of inputs[name]?.imports ?? []) if (!external) names.add(path)
      return [...names].map(name => paths.get(name)).filter(path => path !== undefined)
    },
    strays: read => read.filter(path => !listed.has(path)),
  }
}
