import { resolve } from 'node:path'
import type { Metafile } from 'esbuild'

/** Which files went into which of the bundles of one build. */
export interface BuildGraph {
  /**
   * The files of one bundle, its entry first. `undefined` when the bundler lists one under another name than its path, as
   * it does for `x.ts?y`, and for JSON that some entries import with attributes and others without.
   */
  filesOf(output: string): string[] | undefined
}

export function createBuildGraph({ inputs, outputs }: Metafile, root: string, read: readonly string[]): BuildGraph {
  const isRead = new Set(read)
  const paths = new Map(Object.keys(inputs).map(name => [name, resolve(root, name)]))

  function namesOf(entry: string): Set<string> {
    const names = new Set([entry])
    // What is added to a set while it is walked comes up as well, once.
    for (const name of names)
      for (const { path, external } of inputs[name]?.imports ?? []) if (!external) names.add(path)
    return names
  }

  return {
    filesOf(output) {
      const entry = outputs[output]?.entryPoint
      if (entry === undefined) return undefined
      const files = [...namesOf(entry)].map(name => paths.get(name) ?? name)
      return files.every(path => isRead.has(path)) ? files : undefined
    },
  }
}
