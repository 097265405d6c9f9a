// Some file systems (HFS+, folders of ext4 that ignore case) pass over characters that are not seen.
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu

/**
 * What a name or path has in common with all its spellings that some file system takes for the same: of either case,
 * composed or decomposed, with ligatures and long s. For comparing what does not exist yet and has nothing but a name.
 */
export function fold(text: string): string {
  return text.normalize('NFD').replace(UNSEEN, '').toUpperCase().toLowerCase().normalize('NFC')
}
