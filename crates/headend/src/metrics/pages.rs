//! The counts of histograms, in pages of one cache line each that all histograms of a run have in common.
//!
//! A plant has thousands of histograms, and each grows by a page now and then. In one store a new page moves none of the others, and lies on one cache line.

use prefetch_index::prefetch_index;

/// Buckets of a page, as a power of two.
const PAGE: u32 = 7;
/// Bytes of a page.
const PAGE_BYTES: usize = 1 << (PAGE - 1);
/// What a count of a page can hold.
const MOST: u8 = 15;
/// Pages that the store grows by.
const CHUNK: usize = 256;
/// Pages by which a histogram's list of them grows: about an octave.
const STEP: usize = 8;

/// Counts of 128 buckets, two to the byte, the lower bucket's in the lower half.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Page([u8; PAGE_BYTES]);

const _: () = assert!(size_of::<Page>() == 64, "a cache line");

/// The pages of all histograms.
#[derive(Debug, Default)]
pub struct PageStore {
    /// No page is ever moved.
    chunks: Vec<Box<[Page; CHUNK]>>,
    /// Pages begun.
    len: u32,
}

/// A histogram's counts, less what was carried.
#[derive(Debug, Clone, Default)]
pub(super) struct Pages {
    /// The first bucket's page, counted from bucket 0, that is in the list.
    first: usize,
    /// For each page from there on, one more than its place in the store, or zero.
    places: Vec<u32>,
}

impl PageStore {
    /// Begins a page; one more than its place.
    fn add(&mut self) -> u32 {
        if self.len as usize == self.chunks.len() * CHUNK {
            let empty = [const { Page([0; PAGE_BYTES]) }; CHUNK];
            self.chunks.push(Box::new(empty));
        }
        self.len += 1;
        self.len
    }

    #[inline]
    fn page(&self, place: u32) -> &[u8; PAGE_BYTES] {
        let place = place as usize - 1;
        &self.chunks[place / CHUNK][place % CHUNK].0
    }

    #[inline]
    fn page_mut(&mut self, place: u32) -> &mut [u8; PAGE_BYTES] {
        let place = place as usize - 1;
        &mut self.chunks[place / CHUNK][place % CHUNK].0
    }
}

impl Pages {
    /// Counts one more in a bucket; how many are to be carried.
    #[inline]
    pub(super) fn add(&mut self, bucket: usize, store: &mut PageStore) -> u64 {
        let place = match self.place(bucket) {
            0 => self.add_page(bucket, store),
            place => place,
        };
        let (byte, shift) = half_of(bucket);
        let byte = &mut store.page_mut(place)[byte];
        if *byte >> shift & MOST < MOST {
            *byte += 1 << shift;
            return 0;
        }
        *byte &= !(MOST << shift);
        u64::from(MOST) + 1
    }

    /// Asks for the list of its pages.
    #[inline]
    pub(super) fn fetch(&self) {
        prefetch_index(&self.places, 0);
        prefetch_index(&self.places, self.places.len() / 2);
    }

    /// Asks for the page of a bucket.
    #[inline]
    pub(super) fn fetch_page(&self, bucket: usize, store: &PageStore) {
        if let Some(place) = self.place(bucket).checked_sub(1) {
            let chunk = &store.chunks[place as usize / CHUNK];
            prefetch_index(chunk.as_slice(), place as usize % CHUNK);
        }
    }

    /// A bucket's count.
    pub(super) fn of(&self, bucket: usize, store: &PageStore) -> u64 {
        match self.place(bucket) {
            0 => 0,
            place => {
                let (byte, shift) = half_of(bucket);
                u64::from(store.page(place)[byte] >> shift & MOST)
            }
        }
    }

    /// Buckets of the pages there are, in order.
    pub(super) fn buckets(&self) -> impl Iterator<Item = usize> + '_ {
        let pages = (self.first..).zip(&self.places);
        let existing = pages.filter(|&(_, &place)| place > 0);
        existing.flat_map(|(page, _)| page << PAGE..(page + 1) << PAGE)
    }

    /// Counts nothing any more; keeps its pages.
    pub(super) fn clear(&mut self, store: &mut PageStore) {
        for &place in self.places.iter().filter(|&&place| place > 0) {
            store.page_mut(place).fill(0);
        }
    }

    /// One more than the place of a bucket's page in the store; zero if it has none.
    #[inline]
    fn place(&self, bucket: usize) -> u32 {
        let index = (bucket >> PAGE).wrapping_sub(self.first);
        self.places.get(index).copied().unwrap_or(0)
    }

    #[cold]
    fn add_page(&mut self, bucket: usize, store: &mut PageStore) -> u32 {
        let page = bucket >> PAGE;
        let step = page - page % STEP;
        if self.places.is_empty() {
            self.first = step;
        }
        if step < self.first {
            let more = self.first - step;
            self.places.reserve_exact(more);
            self.places.splice(..0, std::iter::repeat_n(0, more));
            self.first = step;
        }
        let len = step + STEP - self.first;
        if len > self.places.len() {
            // Not more than is needed: a plant has thousands of these.
            self.places.reserve_exact(len - self.places.len());
            self.places.resize(len, 0);
        }
        let place = store.add();
        self.places[page - self.first] = place;
        place
    }

    /// How many pages there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.places.iter().filter(|&&place| place > 0).count()
    }
}

/// The byte of a bucket's count on its page, and where in it the count begins.
#[inline]
const fn half_of(bucket: usize) -> (usize, u32) {
    let within = bucket & ((1 << PAGE) - 1);
    (within / 2, within as u32 % 2 * 4)
}
