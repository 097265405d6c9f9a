import type { SourceUnit } from '../../core/catalogue/index.ts'

export type GoodUnit = Extract<SourceUnit, { hash: string }>

/** One imported text of an entry, and what it defines once that was collected. */
export interface Version {
  readonly exports: Record<string, unknown>
  unit: GoodUnit | undefined
}

/** The last texts of an entry. Node never forgets a module, so an edit that is undone gets the old one back. */
export interface VersionMemory {
  get(hash: string): Version | undefined
  /** Keeps it as the newest; the one that was not used for longest goes. */
  keep(hash: string, version: Version): Version
}

export function createVersionMemory(size: number): VersionMemory {
  const versions = new Map<string, Version>()
  return {
    get: hash => versions.get(hash),
    keep(hash, version) {
      versions.delete(hash)
      versions.set(hash, version)
      const [oldest] = versions.keys()
      if (oldest !== undefined && versions.size > size) versions.delete(oldest)
      return version
    },
  }
}
